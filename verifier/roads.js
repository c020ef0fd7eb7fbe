/**
 * The roads as logical columns (docs/develop/adr/0013): heights of the big road, and the roads derived.
 */

const LOOKBACK = { big_eye_boy: 1, small_road: 2, cockroach_pig: 3 };

/**
 * Lay the results of a shoe in columns. Ties are counted on the cell that they follow; ties before
 * the first decided coup on that coup's cell.
 * @param {string} results B, P and T, in order
 * @returns {{winner: string, ties: number}[][]}
 */
export function bigRoad(results) {
  const columns = [];
  let waiting = 0;
  for (const winner of results) {
    const column = columns.at(-1);
    if (winner === "T") {
      if (column) column.at(-1).ties += 1;
      else waiting += 1;
    } else if (column?.[0].winner === winner) {
      column.push({ winner, ties: 0 });
    } else {
      columns.push([{ winner, ties: waiting }]);
      waiting = 0;
    }
  }
  return columns;
}

/** @param {number[]} heights @param {number} column @param {number} row @param {number} back */
function mark(heights, column, row, back) {
  if (row === 0) {
    if (column - 1 - back < 0) return "";
    return heights[column - 1] === heights[column - 1 - back] ? "R" : "B";
  }
  if (column - back < 0) return "";
  return row < heights[column - back] === row - 1 < heights[column - back] ? "R" : "B";
}

/** @param {number[]} heights of the big road @param {number} back columns looked back @returns {string} */
export function derived(heights, back) {
  let marks = "";
  heights.forEach((height, column) => {
    for (let row = 0; row < height; row += 1) marks += mark(heights, column, row, back);
  });
  return marks;
}

/** @param {{winner: string}[][]} columns @param {string} winner @returns {object} what it would add */
function next(columns, winner) {
  const heights = columns.map((column) => column.length);
  const goesOn = columns.at(-1)?.[0].winner === winner;
  const column = goesOn ? heights.length - 1 : heights.length;
  const row = goesOn ? heights.at(-1) : 0;
  return Object.fromEntries(Object.entries(LOOKBACK).map(([road, back]) => [road, mark(heights, column, row, back)]));
}

/** @param {string} results @returns {object} as `baccarat roads --json` prints it */
export function roads(results) {
  const columns = bigRoad(results);
  const heights = columns.map((column) => column.length);
  const lines = Object.entries(LOOKBACK).map(([road, back]) => [road, derived(heights, back)]);
  return {
    big_road: columns,
    heights,
    ...Object.fromEntries(lines),
    bead_plate: [...results],
    next: { banker: next(columns, "B"), player: next(columns, "P") },
  };
}
