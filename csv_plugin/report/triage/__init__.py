"""Triage of pretraining checkpoints: read, judge, show, watch."""
