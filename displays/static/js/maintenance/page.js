// The maintenance page: goes back to the page that was asked for, once the server answers.

const AGAIN_MS = 2000;
const { pathname, search } = location;
const wanted = pathname === "/maintenance" ? "/" : pathname + search;

async function look() {
  try {
    await fetch("/health", { cache: "no-store", signal: AbortSignal.timeout(AGAIN_MS) });
    location.replace(wanted);
  } catch {
    setTimeout(look, AGAIN_MS);
  }
}

setTimeout(look, AGAIN_MS);
