"""A click group that imports a command only when it is called."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from click.shell_completion import CompletionItem

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that none pays for another.

    Args:
        lazy: name to (`module:attribute`, one line of help).
        plugins: the entry point group through which other packages add commands.
        options: passed to `click.Group`.
    """

    def __init__(
        self, *, lazy: Mapping[str, tuple[str, str]], plugins: str | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self._lazy = lazy
        self._plugins = plugins

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names, sorted."""
        return sorted({*self._lazy, *self._added()})

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Import the command of this name and return it."""
        if cmd_name in self._lazy:
            module, _, attribute = self._lazy[cmd_name][0].partition(":")
            command = getattr(importlib.import_module(module), attribute)
        elif added := self._added().get(cmd_name):
            command = added.load()
        else:
            return None
        assert isinstance(command, click.Command)  # noqa: S101 - the tables are ours
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return name, command and further arguments; an unknown name gets the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            name, message = error.command_name, None
            if inner := [group for group in self._groups(ctx) if group.get_command(ctx, name)]:
                full = " or ".join(f"`{ctx.command_path} {group.name} {name}`" for group in inner)
                message = f"No such command {name!r}. Did you mean {full}?"
            raise click.exceptions.NoSuchCommand(
                name, message, None if message else self.list_commands(ctx), ctx
            ) from error

    def _groups(self, ctx: click.Context) -> list[click.Group]:
        """Return the groups among the commands, which imports them all."""
        commands = [self.get_command(ctx, name) for name in self._lazy]
        return [command for command in commands if isinstance(command, click.Group)]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the names that begin so, with their help lines; no command is imported for it."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - for a shell alone

        found = [
            CompletionItem(name, help=self._lazy.get(name, ("", ""))[1])
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write names and help lines; only commands of other packages are imported for this."""
        lines = {name: line for name, (_, line) in self._lazy.items()}
        for name in self._added():
            command = self.get_command(ctx, name)
            lines[name] = command.get_short_help_str() if command else ""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(lines.items()))

    def _added(self) -> "dict[str, EntryPoint]":
        """Return the commands of other packages by name."""
        if self._plugins is None:
            return {}
        from importlib.metadata import entry_points  # noqa: PLC0415 - takes 15 ms, for help alone

        return {each.name: each for each in entry_points(group=self._plugins)}
