// Has the browser keep the maintenance page, where it allows service workers: over TLS, and on the
// server's own machine.

if ("serviceWorker" in navigator) navigator.serviceWorker.register("/service-worker.js").catch(() => {});
