/**
 * Bundles the library's entry points into dist, and the command line into dist/cli, each with the dependencies in a few files,
 * of which a service or a command loads only what it uses. Comments in a bundle name the source of each part.
 */
import { cpSync } from 'node:fs'
import { type BuildOptions, build } from 'rolldown'

const common: BuildOptions = {
  platform: 'node',
  transform: { target: 'es2024' },
  treeshake: {
    // On import, @platformatic/kafka compiles option checks for its clients, which takes 0.5 s. busgate uses no such client.
    moduleSideEffects: id => !id.includes('/node_modules/@platformatic/kafka/'),
    manualPureFunctions: ['ajv.compile'],
  },
}

await build({
  ...common,
  input: {
    index: 'src/index.ts',
    ...Object.fromEntries(['consumer', 'gateway', 'protocol', 'sandbox'].map(name => [`${name}/index`, `src/${name}/index.ts`])),
    producer: 'src/producer.ts',
  },
  // what a service shares with busgate: its tracing, and the schemas of busgate/protocol
  external: ['@opentelemetry/api', 'zod'],
  output: { dir: 'dist', chunkFileNames: 'chunks/[name].js', sourcemap: true },
})

await build({
  ...common,
  input: 'src/cli/bin.ts',
  checks: { eval: false },
  output: {
    dir: 'dist/cli',
    chunkFileNames: '[name].js',
    // Node suppresses deprecation warnings only for files in node_modules, where bundled dependencies no longer are.
    intro: ({ isEntry }) => (isEntry ? 'process.noDeprecation = true' : ''),
  },
})

cpSync('src/ui/page', 'dist/cli/page', { recursive: true, filter: file => !file.endsWith('.json') })
