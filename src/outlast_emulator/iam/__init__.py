"""Who calls, and what they may do: accounts, tokens, roles, bindings, and the endpoints that give tokens out.

The rules, in order:

1. A token that the emulator issued is always who it says: its principal's permissions are checked, and once it is expired or
   revoked the call is answered 401.
2. Any other call (no token, or one of somebody else's making) is the project's owner, so that a test or a newcomer needs no
   login. With the switch `require_login` it is answered 401 instead.
3. With the switch `authorize` off nobody's permissions are checked.
"""
