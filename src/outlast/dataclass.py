"""`dataclass` of the standard library, carried out when its class is first used.

A command imports a hundred such classes and uses twenty; compiling the methods of all was half of what its start cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    import threading

    FIELDS = "__dataclass_fields__"
    """By which `dataclasses` knows its classes, and asks for their fields."""

    _making = threading.RLock()

    def dataclass(cls=None, /, **options):
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        if options.get("slots") or "__init__" in cls.__dict__:
            return dataclasses.dataclass(cls, **options)  # makes another class, or begins with a method of its own
        later = Later(cls, options)
        setattr(cls, FIELDS, later)
        cls.__init__ = lambda self, *values, **named: later.made().__init__(self, *values, **named)
        return cls

    class Later:
        """In place of a class's fields, until somebody asks for them or for an instance."""

        def __init__(self, cls, options):
            self.cls = cls
            self.options = options

        def __get__(self, instance, owner):
            self.made()
            return getattr(owner, FIELDS)

        def made(self):
            """Several threads may come at once: whoever is not the first finds the class whole."""
            with _making:
                if self.cls.__dict__[FIELDS] is self:
                    _describe(self.cls)
                    dataclasses.dataclass(self.cls, **self.options, init=False)
                    self.cls.__init__ = self._initializer()
            return self.cls

        def _initializer(self):
            """By way of a class that adds nothing: `dataclasses` leaves a method alone that is there, and ours must be until the end."""
            heir = type(self.cls)(self.cls.__name__, (self.cls,), {"__qualname__": self.cls.__qualname__})
            _describe(heir)
            dataclasses.dataclass(heir, repr=False, eq=False, frozen=self.options.get("frozen", False))
            return heir.__init__

    def _describe(cls):
        if cls.__doc__ is None:
            cls.__doc__ = ""  # else `dataclasses` writes down its signature, which takes longer than all the rest
