// Exits 0 if `started` or `ready`, the second argument, is true at /readyz of this container; else prints what it waits for.
const [, port, asked] = process.argv
require('node:http')
  .get({ host: '127.0.0.1', port, path: '/readyz' }, async response => {
    const state = JSON.parse(Buffer.concat(await response.toArray()).toString())
    if (state[asked] === true) return
    console.log(state.reasons.join('\n'))
    process.exitCode = 1
  })
  .on('error', error => {
    console.log(String(error))
    process.exitCode = 1
  })
