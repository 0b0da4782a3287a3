import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { documents } from '../support/documents.ts'

const root = join(import.meta.dirname, '../..')

const withoutCode = (page: string) => page.replaceAll(/```.*?```/gs, '')
const pageOf = (file: string) => withoutCode(readFileSync(join(root, file), 'utf8'))

/** The anchor that GitHub gives to a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const anchorsIn = (file: string) =>
  new Set([...pageOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!)))

const links = documents.flatMap(file =>
  [...pageOf(file).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link]) => [file, link!] as const),
)

test('the documents link to each other', () => expect(links.length).toBeGreaterThan(100))

test.each(links)('%s: the link %s has a target', (file, link) => {
  const [path, anchor] = link.split('#')
  const target = path ? normalize(join(dirname(file), path)) : file
  expect(existsSync(join(root, target)), target).toBe(true)
  if (anchor) expect([...anchorsIn(target)]).toContain(anchor)
})
