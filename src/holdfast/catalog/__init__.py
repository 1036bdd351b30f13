"""What is known of models: their windows and their prices."""
