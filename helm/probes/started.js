// Exits 0 once the process in this container has started; until then prints what it waits for.
fetch(`http://127.0.0.1:${process.argv[1]}/readyz`)
  .then(response => response.json())
  .then(({ started, reasons }) => {
    if (started === true) process.exit(0)
    console.log(reasons.join('\n'))
    process.exit(1)
  })
  .catch(error => {
    console.log(String(error.cause ?? error))
    process.exit(1)
  })
