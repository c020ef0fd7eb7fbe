"""The page of the command line: every command's usage, explanation and options, from click."""

from collections.abc import Iterator

import click

from baccarat.cli.main import cli
from tests.tools.reference_pages.markdown import table


def command_line() -> str:
    """A section a command, in the order of their names."""
    root = click.Context(cli, info_name="baccarat", **cli.context_settings)
    return "\n".join(_section(context, command) for context, command in _leaves(root, cli))


def _leaves(
    context: click.Context, group: click.Group
) -> Iterator[tuple[click.Context, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield inner, command
            yield from _leaves(inner, command)
        else:
            yield inner, command


def _section(context: click.Context, command: click.Command) -> str:
    usage = " ".join(
        ["baccarat", *context.command_path.split()[1:], *command.collect_usage_pieces(context)]
    )
    text = f"### {context.command_path}\n\n```\n{usage}\n```\n\n{_help(command)}\n"
    rows = [
        (f"`{_escaped(names)}`", _escaped(said))
        for names, said in filter(None, (p.get_help_record(context) for p in command.params))
    ]
    return text + ("\n" + table(("option", "meaning"), rows) if rows else "")


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").replace("\b", "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs if each.strip())


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
