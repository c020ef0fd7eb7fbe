// The names of the events that a stream of the consoles carries.

export const EVENTS = ["build", "state", "beat", "bye", "login"];
