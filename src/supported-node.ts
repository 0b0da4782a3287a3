/*
 * Every entry point imports this first, since what it imports next fails on an older Node without saying why.
 */

const { node } = process.versions
const [major = 0, minor = 0] = node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  throw new Error(`busgate needs Node.js 22.19 or newer, and this is ${node}: install a newer one.`)
}
