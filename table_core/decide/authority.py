"""Who may give a command: the broker ties a topic to a login, the command's row names roles."""

from events.commands import Command, Refusal
from events.commands.registry import DELEGATE, ROW_OF

__all__ = ["authorise"]


def authorise(
    roles: frozenset[str], command: Command, of_actor: frozenset[str] = frozenset()
) -> Refusal | None:
    """None when the command may be given; else the refusal.

    Args:
        roles: of the user whose login brought it.
        command: what is asked for.
        of_actor: the roles of the person whom `command.actor` names. Only a delegate may name one,
            and then it is that person's roles alone that count.
    """
    if command.actor is not None:
        if DELEGATE not in roles:
            text = "this user may not ask on behalf of an actor"
            return Refusal(code="not_a_delegate", text=text)
        roles = of_actor - {DELEGATE}
    allowed = ROW_OF[type(command)].roles
    if roles & allowed:
        return None
    return Refusal(code="not_allowed", text=f"this needs the role {' or '.join(sorted(allowed))}")
