"""Kubernetes objects as far as the scheduler reads them. Fields that are not named here are ignored.

`meta` holds what many kinds share, `core` the kinds of Kubernetes itself, `crds` and `topology` our own, whole, within
`bounds`.
"""
