"""Cloud Storage: the model, the JSON API, the XML API."""
