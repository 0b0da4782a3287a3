/**
 * Writes dist/cli, the command line as it is shipped: what it runs of its dependencies in few files, of which each command
 * loads its own. Comments in them say which source each part is of. Whoever imports busgate as a library gets the files that
 * tsc made, and dependencies as npm installed them.
 */
import { cpSync } from 'node:fs'
import { build } from 'rolldown'

await build({
  input: 'src/cli/bin.ts',
  platform: 'node',
  transform: { target: 'es2024' },
  treeshake: {
    // @platformatic/kafka compiles checks of its clients' options when it is imported, for 0.1 s; busgate uses no client of it.
    moduleSideEffects: id => !id.includes('/node_modules/@platformatic/kafka/'),
    manualPureFunctions: ['ajv.compile'],
  },
  checks: { eval: false }, // mappersmith asks by eval for names that a browser lacks
  output: {
    dir: 'dist/cli',
    chunkFileNames: '[name].js',
    // Node warns of deprecated functions unless a file in node_modules calls them, which the dependencies' code no longer is.
    intro: ({ isEntry }) => (isEntry ? 'process.noDeprecation = true' : ''),
  },
})

cpSync('src/ui/page', 'dist/cli/page', { recursive: true, filter: file => !file.endsWith('.json') })
