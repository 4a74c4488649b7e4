"""Two directories compared by what their files mean, one small file per format."""
