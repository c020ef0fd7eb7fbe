"""A shoe replaced in mid-coup: whose the cards are, whose the coup is, and when it is audited."""

from tests.support.table.histories import each_history

HISTORIES = """
faces disclosed later count for the shoe that they came from
    * "P1"       "B1 P2 B2" 3 4C,9S,AS       2D,3C,KH 3
    * "P1 B1"    "P2 B2"    4 2D,4C,9S,AS    3C,KH    2
    * "P1 B1 P2" "B2"       5 2D,4C,9S,AS,KH 3C       1
    in closed
    {0}
    {replace}
    {1}
    disclose 9S 2D KH 3C     -> count(shoe_audited)=0    # more may become known of its cards
    result player            -> settled; gone(01)={3} audit(01).seen={2} audit(01).known={2}
                             -> shoe.id=20261127-02 shoe.cards={5} faces(02)={4}
    end_shoe                 -> gone(02)={4}
the coup is the first shoe's with its mark and its count
    in closed
    P1 B1
    {replace}
    P2 B2
    disclose 9S 2D KH 3C
    result player            -> shoe(01).roads.heights=1 shoe.roads.heights=none
                             -> shown().id=20261127-02 shown().coups=0
                             -> audit(01).coups=1 audit(01).voids=0
    open                     -> coup.id=20261127-02/1
                             -> replaced=none    # the next coup has begun: the first is over
a coup that is void after a replacement is void of its own shoe
    * deal
    * "deal 9S"
    * "deal 9S 2D"
    in closed
    {0}
    {replace}
    void_coup                -> audit(01).coups=1 audit(01).voids=1
    end_shoe                 -> audit(02).coups=0 audit(02).voids=0
a replacement that voids the coup audits at once
    in dealing
    replace_shoe shoe=02 coup=void
                             -> made coup_voided shoe_ended shoe_audited shoe_loaded
                             -> audit(01).coups=1 audit(01).voids=1
a face of a void coup told when the shoe is off the table counts for no other
    in closed
    P1 B1
    replace_shoe shoe=02 coup=void
    reveal P1 9S B1 2D       -> shoe.cards=0 shoe.order=
a face entered by hand counts for the shoe that the card came from
    * "enter_card B1 2D"
    * "{misread}"
    in closed
    P1 9S
    shoe card_unreadable B1
    {replace}
    P2 KH
    {0}
    B2 3C
    result player            -> gone(01)=2D,4C,9S,AS faces(02)=3C,KH
a card that the first shoe never told of is its own where one after it is
    in closed
    P1 9S
    shoe report_lost expected=2 got=4
    P2 KH
    {replace}
    B2 3C
    enter_card B1 2D
    enter_card P2 KH
    enter_card B2 3C
    realign
    result player            -> gone(01)=2D,4C,9S,AS,KH faces(02)=3C
a new device that powers up in mid-coup counts its own places
    in closed
    deal 9S 2D
    {replace}
    shoe shoe_booted
    P1 KH B1 3C
    enter_card P2 KH
    enter_card B2 3C
    realign
    void_coup                -> gone(01)=2D,4C,9S,AS shoe.cards=2 faces(02)=3C,KH
a shoe that is replaced by one that is replaced keeps its cards too
    in closed
    P1
    {replace}
    B1
    replace_shoe shoe=03 coup=continue
    P2 B2
    disclose 9S 2D KH 3C
    result player            -> gone(01)=4C,9S,AS gone(02)=2D faces(03)=3C,KH
                             -> audit(01).coups=1 audit(02).coups=0
an overdrawn card that is taken out after a replacement counts once
    in held
    {replace}
    shoe card_out_of_game reason=overdrawn 4D -> shoe.cards=0 shoe.order=
    void_coup                -> gone(01)=2D,3C,4C,4D,9S,AS,KH
a face is entered no more often than its own shoe has copies
    in closed
    8 x shoe burn_card 2D left=20
    P1 9S
    shoe card_unreadable B1
    {replace}
    P2 KH
    enter_card B1 2D         -> refused too_many_copies
a face is disclosed no more often than its own shoe has copies
    in closed
    P1 B1
    8 x shoe burn_card 2D left=20
    {replace}
    reveal B1 2D             -> misaligned; alarms()~too_many_copies

no other shoe comes before commission kept by the shoe is settled
    * end_shoe "load_shoe shoe=02"
    * deal     "replace_shoe shoe=02"
    * open     "replace_shoe shoe=02"
    rules au-commission commission.timing=per_shoe
    in none
    open
    bet 2 banker 2000
    close
    deal 2D 9S 3C KH
    result banker            -> commission.outstanding.amount=100
    {0}
    {1}                      -> refused commission_outstanding
    collect_commission
    {1}                      -> shoe.id=20261127-02

a free hand begins a round of its own though no card of it is heard
    in settled
    free_hand
    shoe report_lost expected=1 got=3
    enter_card P1 8S
    enter_card B1 2D
    enter_card P2 KH
    enter_card B2 3C         -> shoe.cards=10 faces(01)=2D,2D,3C,3C,4C,8S,9S,AS,KH,KH
a free hand after a void round leaves its late faces with it
    in closed
    P1 B1
    void_coup                -> shoe.cards=4
    free_hand
    reveal P1 9S             -> shoe.cards=4
a round that a card began is the same when the coup is opened by it
    in settled
    P1
    reveal P1 9S             -> coup.id=20261127-01/2 coup.wagerless=true shoe.cards=7
the first coup of a new shoe has nothing of the shoe before
    in settled
    end_shoe
    load_shoe shoe=02
    shoe first_card AS
    shoe burn_card 4C left=0
    open
    close
    shoe report_lost expected=1 got=3
    enter_card P1 8S         -> faces(02)=4C,8S,AS
"""
STEPS = {
    "replace": "replace_shoe shoe=02 coup=continue",
    "misread": "enter_card B1 3D\ncorrect_card B1 2D",
}


test_a_shoe_replaced_in_mid_coup = each_history(HISTORIES, **STEPS)
