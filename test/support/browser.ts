import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { describe, onTestFinished } from 'vitest'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** CHROMIUM_BIN, or what PATH has. */
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

/** A suite that needs a browser, and is skipped where there is none; in CI that is a failure. */
export function describeInBrowser(name: string, suite: () => void): void {
  if (!findBrowser()) {
    if (process.env.CI === 'true') throw new Error(`The tests of the page find no browser: ${advice}`)
    console.warn(`\n*** ${name}: SKIPPED, for want of a browser: ${advice} ***\n`)
  }
  describe.skipIf(!findBrowser())(name, suite)
}

/** A page in a browser of its own. Errors on it, and requests to anything but itself, fail the test. */
export async function openInBrowser(url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const browser = await chromium.launch({ executablePath: findBrowser()!, args: ['--no-sandbox', '--disable-gpu'] })
  const complaints: string[] = []
  onTestFinished(async () => {
    await browser.close()
    if (complaints.length > 0) throw new Error(`the page complains: ${complaints.join('\n')}`)
  })
  const page = await browser.newPage(options)
  page.on('pageerror', error => complaints.push(error.message))
  page.on('console', message => message.type() === 'error' && complaints.push(message.text()))
  page.on('request', request => {
    if (new URL(request.url()).origin !== new URL(url).origin) complaints.push(`it asks for ${request.url()}`)
  })
  await page.goto(url)
  return page
}

/** The part of a window that tests ask; they are checked without the types of a browser. */
interface BrowserWindow {
  document: { body: object; querySelectorAll(selector: string): Iterable<{ scrollWidth: number; clientWidth: number }> }
  getComputedStyle(element: object): { backgroundColor: string }
}

/** The ground's brightness, 0 to 255, and by how many pixels the page is wider than the screen, or a table than its place. */
export function looksOf(page: Page): Promise<{ brightness: number; overflow: number }> {
  return page.evaluate(() => {
    const { document, getComputedStyle } = globalThis as unknown as BrowserWindow
    const [brightness = '0'] = getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? []
    const places = [...document.querySelectorAll('html, .scroll')]
    const overflow = Math.max(...places.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))
    return { brightness: Number(brightness), overflow }
  })
}
