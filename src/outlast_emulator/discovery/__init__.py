"""Google's discovery documents, without their prose, and what is checked by them."""
