import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { describe, onTestFinished } from 'vitest'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** The path in CHROMIUM_BIN, or the first browser on PATH. */
function findBrowser(): string | null {
  const { CHROMIUM_BIN, PATH = '' } = process.env
  const places = PATH.split(delimiter).flatMap(folder => names.map(name => join(folder, name)))
  return [...(CHROMIUM_BIN ? [CHROMIUM_BIN] : []), ...places].find(isProgram) ?? null
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const advice = 'install Chromium (Debian: apt-get install chromium), or name one in CHROMIUM_BIN'

/** Describes a suite that needs a browser. Without one it is skipped; with CI=true it fails. */
export function describeInBrowser(name: string, suite: () => void): void {
  if (!findBrowser()) {
    if (process.env.CI === 'true') throw new Error(`The tests of the page found no browser: ${advice}`)
    console.warn(`\n*** ${name}: SKIPPED, no browser found: ${advice} ***\n`)
  }
  describe.skipIf(!findBrowser())(name, suite)
}

/** Opens a URL in a new browser. Errors on the page, and requests to another origin, fail the test. */
export async function openInBrowser(url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const browser = await chromium.launch({ executablePath: findBrowser()!, args: ['--no-sandbox', '--disable-gpu'] })
  const errors: string[] = []
  onTestFinished(async () => {
    await browser.close()
    if (errors.length > 0) throw new Error(`errors on the page: ${errors.join('\n')}`)
  })
  const page = await browser.newPage(options)
  page.on('pageerror', error => errors.push(error.message))
  page.on('console', message => message.type() === 'error' && errors.push(message.text()))
  page.on('request', request => {
    if (new URL(request.url()).origin !== new URL(url).origin)
      errors.push(`request to another origin: ${request.url()}`)
  })
  await page.goto(url)
  return page
}

/** The part of `window` that tests use. They are type-checked without the DOM's types. */
interface BrowserWindow {
  document: { body: object; querySelectorAll(selector: string): Iterable<{ scrollWidth: number; clientWidth: number }> }
  getComputedStyle(element: object): { backgroundColor: string }
}

/** Measures the background's brightness (0 to 255), and how many pixels the page or a table overflows its container. */
export function measurePage(page: Page): Promise<{ brightness: number; overflow: number }> {
  return page.evaluate(() => {
    const { document, getComputedStyle } = globalThis as unknown as BrowserWindow
    const [brightness = '0'] = getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? []
    const places = [...document.querySelectorAll('html, .scroll')]
    const overflow = Math.max(...places.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))
    return { brightness: Number(brightness), overflow }
  })
}
