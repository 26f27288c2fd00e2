"""Runs, texts and disks that mean harm, and what Regard makes of them."""
