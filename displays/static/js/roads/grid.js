// Places each mark of a road on the grid of six rows. Pure: no DOM, no state.
//
// The table sends logical columns; the page lays out the grid (docs/develop/adr/0032). A streak goes down
// its column. If the next cell is below the last row or taken, the streak turns right and stays in
// that row: a dragon tail. The next streak starts in the column to the right of the start of the
// streak before it, or in the next column whose top cell is free.

export const ROWS = 6;

/** The side wagers that win on one total, which marks the roads. Totals exclude one another. */
export const FIGURES = {
  super_six: "6",
  tiger: "6",
  big_tiger: "6",
  small_tiger: "6",
  tiger_tie: "6",
  lucky6: "6",
  dragon7: "7",
  panda8: "8",
  lucky8_player: "8",
  lucky8_banker: "8",
};

const figureOf = (won) => won?.map((bet) => FIGURES[bet]).find(Boolean) ?? "";

/**
 * Lay streaks out.
 *
 * @param {number[]} heights the length of each streak, in order.
 * @returns {{column: number, row: number}[][]} the cells of each streak.
 */
export function layOut(heights) {
  const taken = new Set();
  const free = (column, row) => !taken.has(column * ROWS + row);
  let start = -1;
  return heights.map((height) => {
    start += 1;
    while (!free(start, 0)) start += 1;
    let column = start;
    let row = 0;
    let turned = false;
    const cells = [];
    for (let n = 0; n < height; n += 1) {
      if (n > 0) {
        turned ||= row + 1 >= ROWS || !free(column, row + 1);
        if (turned) column += 1;
        else row += 1;
      }
      taken.add(column * ROWS + row);
      cells.push({ column, row });
    }
    return cells;
  });
}

/**
 * Lay out the big road. Ties before the first win stand in its first cell, which has no mark yet.
 *
 * @param {{winner: string, ties: number}[][]} columns as `state` has them.
 * @param {string[]} beads as `state` has them.
 * @param {string[][]} wins the side wagers that won, for each bead.
 * @returns {{column: number, row: number, mark: string, ties: number, figure: string}[]} in the
 *     order of play.
 */
export function bigRoad(columns, beads, wins = []) {
  if (!columns.length && beads.length) return [{ column: 0, row: 0, mark: "", ties: beads.length }];
  const places = layOut(columns.map((cells) => cells.length));
  const figures = wins.filter((_, n) => beads[n] && beads[n][0] !== "T").map(figureOf);
  return columns.flatMap((cells, streak) =>
    cells.map(({ winner, ties }, n) => ({ ...places[streak][n], mark: winner, ties, figure: figures.shift() ?? "" })),
  );
}

/**
 * Lay out a derived road: equal marks in a row are a streak.
 *
 * @param {string} marks `R` and `B`, in order.
 * @returns {{column: number, row: number, mark: string}[]} in order.
 */
export function derivedRoad(marks) {
  const streaks = marks.match(/R+|B+/g) ?? [];
  const places = layOut(streaks.map((streak) => streak.length));
  return streaks.flatMap((streak, n) => places[n].map((place) => ({ ...place, mark: streak[0] })));
}

/**
 * Lay out the bead plate: every coup in order, six to a column.
 *
 * @param {string[]} beads as `state` has them: `Bn`, `Pp`, `T`.
 * @param {string[][]} wins the side wagers that won, for each bead.
 * @returns {{column: number, row: number, mark: string, natural: boolean, playerPair: boolean,
 *     bankerPair: boolean, figure: string}[]} in order.
 */
export function beadPlate(beads, wins = []) {
  return beads.map((bead, n) => ({
    column: Math.floor(n / ROWS),
    row: n % ROWS,
    mark: bead[0],
    natural: bead.includes("n"),
    playerPair: bead.includes("p"),
    bankerPair: bead.includes("b"),
    figure: figureOf(wins[n]),
  }));
}

/**
 * Return how many columns a road is drawn with: all that it has, and what fits beside them.
 *
 * @param {{column: number}[]} cells of a road.
 * @param {number} least that it has always.
 * @param {?{width: number, height: number}} box that it fills; null where its width decides.
 */
export function columnsOf(cells, least, box) {
  const needed = cells.reduce((most, cell) => Math.max(most, cell.column + 1), 0);
  const fits = box?.height ? Math.floor((ROWS * box.width) / box.height) : 0;
  return Math.max(needed, fits || least);
}

/**
 * Return the visible cells of a road: the newest columns that fit, moved to the left.
 *
 * @template {{column: number}} Cell
 * @param {Cell[]} cells of a road.
 * @param {number} columns that fit.
 * @returns {Cell[]} the visible cells.
 */
export function newest(cells, columns) {
  const last = cells.reduce((most, cell) => Math.max(most, cell.column), -1);
  const hidden = Math.max(0, last + 1 - columns);
  return cells
    .filter((cell) => cell.column >= hidden)
    .map((cell) => ({ ...cell, column: cell.column - hidden }));
}
