"""Versioned LLM prompts, one YAML file a task."""
