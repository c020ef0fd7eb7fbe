// Ids of a day's shoes and floats: the day, and a rising number.

/** Return the next id: today, and the number after the last one of today. */
export function nextOfDay(last) {
  const now = new Date();
  const two = (value) => String(value).padStart(2, "0");
  const today = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const [day, number] = last ? last.split("-") : ["", "0"];
  return day >= today ? `${day}-${two(Number(number) + 1)}` : `${today}-01`;
}
