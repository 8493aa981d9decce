"""Helpers that know nothing of networks: threads, processes, files, words for people."""
