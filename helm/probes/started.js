// Exits 0 once the process in this container has started, even if it is not ready for another reason by now.
fetch(`http://127.0.0.1:${process.argv[1]}/readyz`)
  .then(response => response.json())
  .then(({ reasons }) => process.exit(reasons.includes('starting') ? 1 : 0))
  .catch(() => process.exit(1))
