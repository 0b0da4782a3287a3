/**
 * Writes the version of package.json into the other files that state it. `npm version` runs this.
 */
import { readFileSync } from 'node:fs'
import { writeGenerated } from './generated-file.ts'

/** Matches the version in each file. */
const places: Record<string, RegExp> = {
  'README.md': /(?<=busgate-)\d\S*(?=\.tgz)/g,
  'src/package.ts': /(?<=version = ')[^']+/g,
  'docs/asyncapi.yaml': /(?<=^ {2}version: )\S+/gm,
  'examples/embedded/README.md': /(?<=busgate-)\d\S*(?=\.tgz)/g,
  'helm/Chart.yaml': /(?<=^(?:version|appVersion): )\S+/gm,
  'helm/README.md': /(?<=REGISTRY\/busgate:)\S+/g,
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

for (const [file, place] of Object.entries(places)) {
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  if (text.search(place) < 0) throw new Error(`${file} states no version: repair it, or remove it from \`places\``)
  writeGenerated(file, text.replaceAll(place, version))
}
