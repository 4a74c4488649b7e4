"""`dataclass` as in the standard library, carried out when its class is first used, and with one method compiled instead of six.

A command imports a hundred such classes and uses the half of them; the standard library's way took half of a command's start.
Whatever else `dataclasses` offers (`fields`, `replace`, `asdict`, `field`) knows these classes as its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from _thread import RLock
    from operator import attrgetter

    FIELDS = "__dataclass_fields__"
    """By which `dataclasses` knows its classes, and asks for their fields."""

    _making = RLock()
    _UNSET = object()

    def dataclass(cls=None, /, **options):
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        if not options.keys() <= {"frozen", "eq", "kw_only"} or "__init__" in cls.__dict__:
            return dataclasses.dataclass(cls, **options)
        later = Later(cls, **options)
        setattr(cls, FIELDS, later)
        cls.__init__ = lambda self, *values, **named: later.made().__init__(self, *values, **named)
        return cls

    class Later:
        """In place of a class's fields, until somebody asks for them or for an instance."""

        def __init__(self, cls, *, frozen=False, eq=True, kw_only=False):
            self.cls = cls
            self.frozen = frozen
            self.eq = eq
            self.kw_only = kw_only

        def __get__(self, instance, owner):
            self.made()
            return getattr(owner, FIELDS)

        def made(self):
            """Several threads may come at once: whoever is not the first finds the class whole."""
            with _making:
                if self.cls.__dict__[FIELDS] is self:
                    self._make()
            return self.cls

        def _make(self):
            cls = self.cls
            if cls.__doc__ is None:
                cls.__doc__ = ""  # else `dataclasses` writes down its signature, which takes longer than all the rest
            dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=self.kw_only)
            fields = dataclasses.fields(cls)
            if self.eq:
                _compare(cls, [one for one in fields if one.compare], hashable=self.frozen)
            if self.frozen:
                cls.__setattr__ = cls.__delattr__ = _refuse
            if "__repr__" not in cls.__dict__:
                cls.__repr__ = _describe
            cls.__init__ = _initializer(cls, fields, self.frozen)  # last: until now it was we who were called

    def _compare(cls, fields, *, hashable):
        values = attrgetter(*(one.name for one in fields)) if fields else lambda _: ()

        def equal(self, other):
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        own_hash = cls.__dict__.get("__hash__")  # None if the class has an `__eq__` of its own
        if "__eq__" not in cls.__dict__:
            cls.__eq__ = equal
        if own_hash is None:
            cls.__hash__ = (lambda self: hash(values(self))) if hashable else None

    def _describe(self):
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _refuse(self, name, *value):
        raise dataclasses.FrozenInstanceError(f"cannot change `{name}` of a {type(self).__name__}")

    def _initializer(cls, fields, frozen):
        """Compiled, because it runs often."""
        names = {"_unset_": _UNSET, "_put_": object.__setattr__}
        asked, asked_by_name, body = ["self"], [], []
        for one in fields:
            value = one.name
            default = ""
            if one.default_factory is not dataclasses.MISSING:
                names[f"_make_{one.name}_"] = one.default_factory
                default = "=_unset_"
                value = f"_make_{one.name}_() if {one.name} is _unset_ else {one.name}"
            elif one.default is not dataclasses.MISSING:
                names[f"_default_{one.name}_"] = one.default
                default = f"=_default_{one.name}_"
            (asked_by_name if one.kw_only else asked).append(one.name + default)
            body.append(f"_put_(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("self.__post_init__()")
        parameters = ", ".join(asked + (["*", *asked_by_name] if asked_by_name else []))
        # Nothing is in it but names of fields, which stand in our own source.
        exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names)  # noqa: S102
        names["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return names["__init__"]
