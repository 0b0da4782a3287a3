import { readFileSync } from 'node:fs'
import nodeModule from 'node:module'
import { pathToFileURL } from 'node:url'

// On an older Node, a named import would fail before the check of the Node version.
const description = nodeModule.findPackageJSON(import.meta.url)!

/** The folder of this package. Relative paths do not work, because the command line is bundled. */
export const packageRoot: URL = new URL('./', pathToFileURL(description))

export const version: string = JSON.parse(readFileSync(description, 'utf8')).version
