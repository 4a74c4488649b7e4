"""`dataclass` as in the standard library, carried out when its class is first used, and with one method compiled instead of six.

A command imports a hundred such classes, uses the half of them, and most of those once or twice; the standard library's way took half
of a command's start. Whatever else `dataclasses` offers (`fields`, `asdict`, `field`) knows these classes as its own; its `replace` does
too, and the one here takes less than half as long, for those who change records by the thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:
    import sys
    from _thread import RLock
    from operator import attrgetter
    from types import ModuleType

    class _Unread(ModuleType):
        """`inspect`, until somebody wants something of it."""

        def __getattr__(self, name):
            import inspect

            return getattr(inspect, name)

    # `dataclasses` has it imported, with four modules more, for signatures that nobody writes down.
    unread = sys.modules.setdefault("inspect", _Unread("inspect"))
    import dataclasses

    if isinstance(unread, _Unread):
        del sys.modules["inspect"]

    FIELDS = "__dataclass_fields__"
    """By which `dataclasses` knows its classes, and asks for their fields."""

    COMPILED_AFTER = 4
    """Instances of a class, after which its `__init__` is worth compiling."""

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

    def replace(one, /, **changes):
        cls = type(one)
        fields = getattr(cls, FIELDS)
        if type(fields) is not dict or not changes.keys() <= fields.keys() or hasattr(cls, "__post_init__"):
            return dataclasses.replace(one, **changes)
        made = object.__new__(cls)
        before = one.__dict__
        if len(before) > len(fields):  # what it has found out about itself stays behind
            before = {name: before[name] for name in fields}
        made.__dict__.update(before)
        made.__dict__.update(changes)
        return made

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
            written = cls.__doc__
            cls.__doc__ = (
                written or "."
            )  # else `dataclasses` writes down its signature, which takes a third of its time
            dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=self.kw_only)
            cls.__doc__ = written
            fields = dataclasses.fields(cls)
            if self.eq:
                _compare(cls, [one for one in fields if one.compare], hashable=self.frozen)
            if self.frozen:
                cls.__setattr__ = cls.__delattr__ = _refuse
            if "__repr__" not in cls.__dict__:
                cls.__repr__ = _describe
            cls.__init__ = _first_uses(cls, fields, self.frozen)  # last: until now it was we who were called

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

    def _first_uses(cls, fields, frozen):
        """An `__init__` that needs no compiling; what is not quite usual, and whatever comes often, it leaves to the compiled one."""
        by_position = [one.name for one in fields if not one.kw_only]
        defaults = {one.name: one for one in fields}
        uses_left = COMPILED_AFTER

        def compiled():
            made = _initializer(cls, fields, frozen)
            if cls.__dict__["__init__"] is init:
                cls.__init__ = made
            return made

        def init(self, *values, **named):
            nonlocal uses_left
            uses_left -= 1
            given = dict(zip(by_position, values, strict=False))
            given.update(named)
            if uses_left < 0 or len(given) != len(values) + len(named) or not given.keys() <= defaults.keys():
                return compiled()(self, *values, **named)
            state = self.__dict__
            for name, one in defaults.items():
                if name in given:
                    state[name] = given[name]
                elif one.default is not dataclasses.MISSING:
                    state[name] = one.default
                elif one.default_factory is not dataclasses.MISSING:
                    state[name] = one.default_factory()
                else:
                    state.clear()
                    return compiled()(self, *values, **named)  # which says what is missing
            if hasattr(cls, "__post_init__"):
                self.__post_init__()
            return None

        return init

    def _initializer(cls, fields, frozen):
        """Compiled, because it runs often."""
        names = {"_unset_": _UNSET}
        asked, asked_by_name, body = ["self"], [], ["_state_ = self.__dict__"] if frozen else []
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
            body.append(f"_state_[{one.name!r}] = {value}" if frozen else f"self.{one.name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("self.__post_init__()")
        parameters = ", ".join(asked + (["*", *asked_by_name] if asked_by_name else []))
        # Nothing is in it but names of fields, which stand in our own source.
        exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names)  # noqa: S102
        names["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return names["__init__"]
