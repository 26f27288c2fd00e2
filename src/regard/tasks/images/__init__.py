"""What all tasks on images share: options, batches, how training images are varied, and what runs keep of pixels."""
