// The service worker: answers with the kept maintenance page while the server does not answer.
//
// The server writes KEPT before it: the build, and the addresses of the page and its files. Another
// build is another worker, which keeps the files anew. Everything else goes past it, so that forms,
// commands and streams have no second sender.

const CACHE = `maintenance-${KEPT.build}`;
const LATE_MS = 8000; // a switch that is off refuses no connection

self.addEventListener("install", (event) => {
  const files = KEPT.files.map((file) => new Request(file, { cache: "reload" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(files)));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => names.filter((name) => name !== CACHE));
  event.waitUntil(old.then((names) => Promise.all(names.map((name) => caches.delete(name)))));
});

const late = () => new Promise((_, refuse) => setTimeout(refuse, LATE_MS));

/** Answer from the server, or with what was kept at an address. */
async function answer(request, address) {
  try {
    return await Promise.race([fetch(request), late()]);
  } catch {
    return (await caches.match(address)) ?? Response.error();
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname } = new URL(request.url);
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(answer(request, KEPT.page));
  else if (KEPT.files.includes(pathname)) event.respondWith(answer(request, pathname));
});
