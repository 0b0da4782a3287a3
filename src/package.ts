import { readFileSync } from 'node:fs'
import nodeModule from 'node:module'
import { pathToFileURL } from 'node:url'

// A named import would fail on an older Node, which lacks it, before that is told so.
const description = nodeModule.findPackageJSON(import.meta.url)!

/** The folder of this package. The command line is bundled: where a file of it lies says nothing of where others lie. */
export const packageRoot: URL = new URL('./', pathToFileURL(description))

/** The version of this package. */
export const version: string = JSON.parse(readFileSync(description, 'utf8')).version
