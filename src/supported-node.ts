/*
 * Every entry point imports this first: on an older Node, later imports fail with an obscure error.
 */

const { node } = process.versions
const [major = 0, minor = 0] = node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  throw new Error(
    `busgate needs Node.js 22.19 or newer, and this is ${node}: install a newer one (on Linux: npm install node@24, then npx busgate or node_modules/.bin/node).`,
  )
}
