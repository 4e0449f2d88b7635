"""Markdown, properties, links and tags as pure text: text in, structure out; text and an edit in, text out.

Reading never fails: what is odd is returned as a problem. No file, thread, clock or wire is known here.
"""
