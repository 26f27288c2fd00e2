"""Image classifiers of other makers: `transformers` and timm."""
