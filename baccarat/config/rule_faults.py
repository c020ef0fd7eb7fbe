"""What is wrong with the rulebooks that a table's file names, and with its limits over them.

Services that use no rulebook leave this module out, and the rules with it.
"""

from collections.abc import Iterator

from baccarat.config.errors import ConfigFault
from baccarat.config.form import TABLE, TableConfig
from baccarat.rulebooks.currencies import currency_faults
from baccarat.rulebooks.editions import has_kept
from baccarat.rulebooks.library import is_file, site_rulebook
from events.errors import ConfigError, InputError
from table_core.rulebook_check.contradictions import limits_out_of_reach
from table_core.rules.pay_scale import pay_scale
from table_core.rules.rulebook import Rulebook
from table_core.rules.table_limits import limit_faults

__all__ = ["rule_faults"]


def rule_faults(config: TableConfig) -> Iterator[ConfigFault]:
    """Yield the faults of the rulebooks, and of limits over them."""
    for name in config.library:
        try:
            if not is_file(name):
                raise ConfigError(
                    f"{name!r}: give the path of your own, a .toml; what is shipped is known"
                )
            site_rulebook(str(config.beside(name)))
        except InputError as error:
            yield ConfigFault(key="library", reason=str(error))
    try:
        rulebook = site_rulebook(config.rulebook_name)
    except InputError as error:
        if is_file(config.rulebook):
            yield ConfigFault(key="rulebook", reason=str(error))
        else:
            yield TABLE.fault("rulebook", f"{error}; or give the path of your own, a .toml")
        return
    yield from _adoption_faults(config, rulebook)
    if config.limits is not None:
        for line in limit_faults(rulebook, config.limits.as_event()):
            example = TABLE.example_of("limits.bets")
            yield ConfigFault(key="limits", reason=line, example=example)


def _adoption_faults(config: TableConfig, rulebook: Rulebook) -> Iterator[ConfigFault]:
    """Yield why this table may not adopt a rulebook that others could."""
    if not has_kept(config.log_path, rulebook):
        for fault in (*currency_faults(rulebook), *limits_out_of_reach(rulebook)):
            yield ConfigFault(key="rulebook", reason=f"{config.rulebook}: {fault}")
    scale = pay_scale(rulebook)
    if scale is not None and config.pay_scale not in {None, scale}:
        reason = (
            f"{config.rulebook} pays by scale {scale}, and the property's `pay_scale` is "
            f"{config.pay_scale}: one scale holds for every table of a property"
        )
        yield ConfigFault(key="rulebook", reason=reason)
