/**
 * Bundles the command line into dist/cli: its code and dependencies in a few files, of which a command loads only its own.
 * Comments in the bundle name the source of each part. The library entry points stay as tsc compiled them, with dependencies
 * from npm.
 */
import { cpSync } from 'node:fs'
import { build } from 'rolldown'

await build({
  input: 'src/cli/bin.ts',
  platform: 'node',
  transform: { target: 'es2024' },
  treeshake: {
    // On import, @platformatic/kafka compiles option checks for its clients, which takes 0.1 s. busgate uses no such client.
    moduleSideEffects: id => !id.includes('/node_modules/@platformatic/kafka/'),
    manualPureFunctions: ['ajv.compile'],
  },
  checks: { eval: false }, // mappersmith uses eval to look for names that a browser lacks
  output: {
    dir: 'dist/cli',
    chunkFileNames: '[name].js',
    // Node suppresses deprecation warnings only for files in node_modules, where bundled dependencies no longer are.
    intro: ({ isEntry }) => (isEntry ? 'process.noDeprecation = true' : ''),
  },
})

cpSync('src/ui/page', 'dist/cli/page', { recursive: true, filter: file => !file.endsWith('.json') })
