"""What keeps betting shut at the shoe, and the ways out: its own word, or a named person's."""

from tests.support.table.histories import each_history

HISTORIES = """
two errors can stand and one be cleared
    in none
    shoe error_raised code=overdraw latched=false
    shoe error_raised code=time_out latched=true
    shoe error_cleared code=time_out
    open_betting          -> refused shoe_error text~overdraw
    shoe error_cleared code=overdraw
    open                  -> betting
an error that no report ends is ended by a person with a reason and no other
    in none
    shoe error_raised code=alarm_e5 latched=true
    shoe error_raised code=overdraw latched=false
    clear_shoe_error code=alarm_e7             -> refused no_such_error
    clear_shoe_error code=alarm_e5 reason=" "  -> refused reason_required
    clear_shoe_error code=alarm_e5 reason=shut -> made shoe_error_cleared
                          -> shoe_error_cleared: code=alarm_e5 reason=shut
                          -> active()=shoe_error_overdraw
    open_betting          -> refused shoe_error "text=the shoe reports overdraw"
    shoe error_raised code=alarm_e5 latched=true    # it stands again
    clear_shoe_error code=overdraw reason=shut -> made shoe_error_cleared
                          -> shoe_error_cleared: code=overdraw reason=shut
    open_betting          -> refused shoe_error "text=the shoe reports alarm_e5"
    clear_shoe_error code=alarm_e5
    open                  -> betting
a silent shoe keeps betting shut no longer than until a person has looked at it
    in dealing
    clear_shoe_error code=stalled -> refused no_such_error
    shoe link_stalled silent_ms=60000
    clear_shoe_error code=stalled -> refused coup_in_progress
    void_coup
    open_betting          -> refused link_down
    clear_shoe_error code=stalled reason=" "   -> refused reason_required
    clear_shoe_error code=stalled reason=green -> made shoe_error_cleared
                          -> shoe_error_cleared: code=stalled reason=green
                          -> active()=none
    open
    close
    shoe link_up          # as the driver says before the report that ends the silence
    deal 9S               -> dealing
"""


test_what_keeps_betting_shut = each_history(HISTORIES)
