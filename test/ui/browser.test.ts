import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Bus } from '../../src/bus/port.ts'
import { describeInBrowser, measurePage, openInBrowser } from '../support/browser.ts'
import { startBusgate } from '../support/cli.ts'
import { buildCommand, buildCommandOf } from '../support/commands.ts'
import { startPage } from '../support/ui.ts'
import { startWorld } from '../support/worker.ts'

const timeout = 30_000
const part = (page: Page, name: string) => page.getByRole('region', { name })

describeInBrowser('the page of the demo', () => {
  async function openDemo(): Promise<Page> {
    const demo = startBusgate(['demo', '--keep', '--count', '100'])
    await expect.poll(demo.stderr, { timeout }).toContain('Ctrl-C ends.')
    return openInBrowser(/page +(\S+)/.exec(demo.stderr())![1]!)
  }

  test('shows the overview and a message from command to verdict, with the keyboard alone', async () => {
    const page = await openDemo()
    await part(page, 'Commands per second').getByRole('img').waitFor({ timeout })
    const reason = part(page, 'Failures by reason').locator('li', { hasText: 'INSUFFICIENT_FUNDS' })
    await reason
      .getByText('busgate tail results --outcome REJECTED --error-code INSUFFICIENT_FUNDS')
      .waitFor({ timeout })
    await part(page, 'Open doubts').getByText('its callback').waitFor({ timeout })
    await page.getByText('The bus of this demo is inside its process').waitFor({ timeout })
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0)

    await page.keyboard.press('/')
    await page.keyboard.type('order-1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Correlation id order-1' }).waitFor({ timeout })
    await page.getByText(/Sent: the gateway accepted it/).waitFor({ timeout })
    await page.locator('summary').first().focus()
    await page.keyboard.press('Enter')
    await page
      .getByText(/"correlationId": "order-1"/)
      .first()
      .waitFor({ timeout })

    await page.keyboard.press('Escape')
    await part(page, 'Dead letters by cause').waitFor({ timeout })
    expect(new URL(page.url()).hash).toBe('')
    await page.goBack()
    await page.getByRole('heading', { name: 'Correlation id order-1' }).waitFor({ timeout })
  })

  test('says which dead letters cannot be replayed, and lists the messages of a phone', async () => {
    const page = await openDemo()
    const letters = part(page, 'Dead letters by cause')
    await letters.getByText('These bytes cannot become a command').waitFor({ timeout })

    await page.getByLabel('Search by').selectOption('phone')
    await page.getByLabel('Search text').fill('000101')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('heading', { name: 'Phone ends with 000101' }).waitFor({ timeout })
    await page.getByRole('link', { name: 'order-2' }).click({ timeout })
    await page
      .getByText(/380670000101/)
      .first()
      .waitFor({ timeout })
    expect(new URL(page.url()).hash).toContain('by=id&text=2')
  })
})

describeInBrowser('the page', () => {
  test.each([
    { screen: 'a small phone', viewport: { width: 360, height: 740 }, colorScheme: 'dark' as const },
    { screen: 'a phone', viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const },
    { screen: 'a desk', viewport: { width: 1440, height: 900 }, colorScheme: 'light' as const },
  ])('fits the screen of $screen, in the preferred color scheme $colorScheme', async ({ screen: _, ...options }) => {
    const world = await startWorld()
    const { url } = await startPage(world)
    const page = await openInBrowser(url, options)
    await part(page, 'Lag and window').getByText('behind').first().waitFor({ timeout })
    await world.send([
      buildCommand({ id: 1n }),
      buildCommand({ id: 2n, phone: 380501234592 }),
      buildCommandOf('rcs+viber+sms', { id: 3n }),
    ])
    await part(page, 'From command to verdict').getByText('rcs+viber+sms').waitFor({ timeout })
    const { brightness, overflow } = await measurePage(page)
    expect(overflow).toBeLessThanOrEqual(0)
    expect(brightness < 60).toBe(options.colorScheme === 'dark')
  })

  test('shows a refused key first and as a failure, and leads from a message to its story, on a dark phone', async () => {
    const keys = { default: 'sandbox-key', shop: 'shop-key' }
    const settings = { gateway: { accounts: { shop: { apiKey: 'shop-key' } } } }
    const world = await startWorld({ settings, sandbox: { keys } })
    const { url } = await startPage(world)
    const page = await openInBrowser(url, { viewport: { width: 375, height: 812 }, colorScheme: 'dark' })
    await part(page, 'Failures by reason').getByText('No failures.').waitFor({ timeout })
    world.sandbox.setKeys({ ...keys, shop: 'another-key' })
    await world.send([buildCommand({ id: 1n, account: 'shop' })])
    const words =
      /Account shop has been held back since .*, because the gateway refuses its key; 1 command waits with it\./
    await part(page, 'Held back').getByText(words).waitFor({ timeout })
    await part(page, 'Failures by reason').getByText(words).waitFor({ timeout })
    await part(page, 'From command to verdict').getByText('all', { exact: true }).waitFor({ timeout })
    expect((await measurePage(page)).overflow).toBeLessThanOrEqual(0)
    await part(page, 'Latest messages').getByRole('link', { name: '1 sms shop waiting' }).click({ timeout })
    await page.getByText(/Not sent yet: account shop has been held back since/).waitFor({ timeout })
  })

  test('shows values that cannot be read as unknown, in red, and draws no line', async () => {
    const world = await startWorld()
    const away = () => Promise.reject(new Error('no broker answers'))
    const bus = { ...world.bus, partitions: away, progress: away, follow: away } as unknown as Bus
    const { url } = await startPage(world, { bus })
    const page = await openInBrowser(url)
    await page.getByRole('alert').getByText('no broker answers').waitFor({ timeout })
    await page.waitForFunction('document.querySelectorAll(".chart .tick").length > 0')
    const text = await page.locator('main').innerText()
    expect(text).not.toMatch(/No failures|No traffic yet|No doubts|No dead letters/)
    expect(text.match(/Unknown\./g)).toHaveLength(6)
    const lines = await page.locator('.chart .line').evaluateAll(all => all.map(one => String(one.getAttribute('d'))))
    expect(lines.join('')).toBe('')
  })

  test('shows no lag for a topic without committed offsets', async () => {
    const { settings, ...world } = await startWorld()
    const kafka = { ...settings.kafka, groupId: 'nobody' }
    const { url } = await startPage({ ...world, settings: { ...settings, kafka } })
    const page = await openInBrowser(url)
    const lag = part(page, 'Lag and window')
    await lag.getByText('not begun').first().waitFor({ timeout })
    expect(await lag.innerText()).not.toContain('behind')
  })

  test('executes no HTML or scripts from records', async () => {
    const world = await startWorld()
    const hostile = '<img src=x onerror="document.title=1"><script>document.title=1</script>\u202eecho'
    await world.send([buildCommand({ id: 1n, correlationId: hostile, tenant: hostile })])
    await world.finished(1)
    const { url } = await startPage(world)
    const page = await openInBrowser(`${url}#by=id&text=1`)
    await page.getByText('<script>document.title=1</script>\\u202eecho').first().waitFor({ timeout })
    expect(await page.title()).toBe('busgate')
  })

  test('shows a message whose deadline is beyond all dates', async () => {
    const world = await startWorld()
    await world.send([buildCommand({ id: 1n, deadline: Number.MAX_SAFE_INTEGER })])
    await world.finished(1)
    const { url } = await startPage(world)
    const page = await openInBrowser(`${url}#by=id&text=1`)
    await page.getByText('deadline never').waitFor({ timeout })
  })

  test('shows no text and no phone, and has no search by phone', async () => {
    const world = await startWorld()
    await world.send([buildCommand({ id: 1n, phone: 380671239999 })])
    await world.finished(1)
    const { url } = await startPage(world)
    const page = await openInBrowser(`${url}#by=id&text=1`)
    await page.getByText(/Sent: the gateway accepted it/).waitFor({ timeout })
    for (const summary of await page.locator('summary').all()) await summary.click()
    expect(await page.content()).not.toContain('380671239999')
    const kinds = await page.getByLabel('Search by').locator('option').allTextContents()
    expect(kinds).toEqual(['Id', 'Correlation id'])
  })

  test('says if nothing was found, and if the server has stopped', async () => {
    const world = await startWorld()
    const served = await startPage(world)
    const page = await openInBrowser(`${served.url}#by=correlation&text=nobody`)
    await page.getByText('No message found.').waitFor({ timeout })
    await page.keyboard.press('Escape')
    await part(page, 'Open doubts').waitFor({ timeout })
    await page.keyboard.press('/')
    await page.locator('#text:focus').waitFor()
    page.removeAllListeners('console') // the browser logs the failed requests that follow
    await served.close()
    await page.getByText('busgate ui does not answer.').waitFor({ timeout })
  })
})
