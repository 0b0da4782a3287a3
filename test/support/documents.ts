import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** All Markdown documents, without the API reference, which is made from checked sources. */
export const documents = globSync(['*.md', 'docs/**/*.md', 'helm/*.md'], { cwd: root, exclude: ['docs/api'] }).sort()

/** A part of a document. */
export interface Excerpt {
  /** The document's path from the root of the project. */
  file: string
  /** Its first line in the file, counted from 1. */
  line: number
  text: string
}

export interface Block extends Excerpt {
  language: string
  /** The reason in `<!-- not checked: … -->` on the line before, or null if the block must be checked. */
  excuse: string | null
}

const fence = /(?: *<!-- not checked: ([^\n]+) -->\n)?^( *)```(\w+)\n(.*?)^ *```$/gms

/** The code blocks of all documents. */
export const blocks: readonly Block[] = documents.flatMap(file => {
  const page = readFileSync(join(root, file), 'utf8')
  return [...page.matchAll(fence)].map(match => {
    const [whole, excuse = null, indent = '', language = '', code = ''] = match
    const line = lineAt(page, match.index + whole.indexOf('```')) + 1
    return { file, line, language, excuse, text: code.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
  })
})

/** The inline code of all documents, each joined to one line. */
export const quoted: readonly Excerpt[] = documents.flatMap(file => {
  const page = readFileSync(join(root, file), 'utf8').replace(fence, whole => whole.replaceAll(/[^\n]/g, ' '))
  return [...page.matchAll(/`([^`]+)`/g)].map(match => ({
    file,
    line: lineAt(page, match.index),
    text: match[1]!.replaceAll(/\s+/g, ' '),
  }))
})

function lineAt(page: string, index: number): number {
  return page.slice(0, index).split('\n').length
}
