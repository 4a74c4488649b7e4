"""Classes of plain fields as `dataclasses` makes them, without the 15 ms that it costs a script at its start.

Importing `dataclasses` brings in the whole of `inspect`, and every class is compiled anew in every process.
"""

from __future__ import annotations

__all__ = ["field", "fielded", "replace"]

TYPE_CHECKING = False  # `typing` is half of what importing it here would cost

if TYPE_CHECKING:
    from dataclasses import dataclass as fielded
    from dataclasses import field, replace
else:

    class field:
        def __init__(self, *, default_factory):
            self.make = default_factory

    def fielded(cls=None, *, frozen=False):
        """What is annotated in the class is a field, in that order; equal by value, and hashable if it is frozen."""
        if cls is None:
            return lambda cls: fielded(cls, frozen=frozen)
        names = tuple(cls.__annotations__)
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}

        def initialize(self, *given, **named):
            # First the short way: a state of ten thousand arrays makes twenty thousand of them at each save.
            if not named and len(given) == len(names):
                self.__dict__.update(zip(names, given, strict=True))
                return
            values = dict(zip(names, given, strict=False))
            if len(given) > len(names) or not values.keys().isdisjoint(named) or not named.keys() <= set(names):
                raise TypeError(f"{cls.__name__} has the fields {', '.join(names)}")
            values.update(named)
            if len(values) < len(names):
                for name in names:
                    if name not in values:
                        values[name] = _default(cls, name, defaults)
            self.__dict__.update(values)

        cls.__init__ = initialize
        cls.__eq__ = lambda self, other: self.__dict__ == other.__dict__ if type(other) is cls else NotImplemented
        cls.__hash__ = (lambda self: hash(tuple(self.__dict__.values()))) if frozen else None
        cls.__repr__ = lambda self: f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"
        if frozen:
            cls.__setattr__ = _refuse
        cls.__match_args__ = names
        return cls

    def _default(cls, name, defaults):
        if name not in defaults:
            raise TypeError(f"{cls.__name__} needs `{name}`")
        default = defaults[name]
        return default.make() if isinstance(default, field) else default

    def _refuse(self, name, value):
        raise AttributeError(f"{type(self).__name__} is frozen")

    def replace(record, **changes):
        return type(record)(**{**record.__dict__, **changes})
