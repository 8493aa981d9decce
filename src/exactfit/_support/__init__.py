"""Helpers that know nothing of networks: threads, processes, files, progress, words for people."""
