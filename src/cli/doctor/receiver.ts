import { startReceiver } from '../../callbacks/receiver.ts'
import { refusals } from '../../callbacks/refusals.ts'
import { tokensOf } from '../../callbacks/role.ts'
import { createHookTokens } from '../../callbacks/token.ts'
import { type Settings, variableOf } from '../../config/index.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'

const limitMs = 4000
const minuteMs = 60_000
const publicUrl = variableOf('callbacks.publicUrl')

export const receiver = check({
  name: 'receiver',
  about:
    "callbacks.publicUrl leads to a receiver that opens this secret's hook addresses: it is sent a callback that can never become an event, and refuses it in its own words. Where none runs on this machine, one is started for it. A process without the role callbacks only warns of an address that leads to none: the way may be open to the gateway alone.",
  needs: ['settings'],
  async look({ settings }) {
    const url = settings.callbacks.publicUrl
    const tokens = tokensOf(settings)
    if (!url || !tokens)
      return { findings: [skipped('callbacks.publicUrl is not set: the gateway is given no address')] }
    const isOurs = settings.roles.includes('callbacks')
    const own = isOurs ? await startOwn(settings) : null
    try {
      const finding = judge(url, await call(url, settings), own, isOurs)
      if (finding.state !== 'ok' || !url.startsWith('http:')) return { findings: [finding] }
      const what = 'whoever is on the way reads and repeats the callbacks: the address begins with http'
      return { findings: [finding, warning(what, `have a proxy speak TLS, and let ${publicUrl} begin with https`)] }
    } finally {
      await own?.close()
    }
  },
})

/** A receiver that keeps nothing: a callback that comes by chance is told to come again. */
interface OwnReceiver {
  called(): boolean
  close(): Promise<void>
}

/** null: its port is taken, by a worker that runs already. @throws Error when the port may not be used */
async function startOwn(settings: Settings): Promise<OwnReceiver | null> {
  const { port, host } = settings.callbacks
  const telemetry = new Telemetry()
  let called = false
  telemetry.on('callback.refused', ({ reason }) => {
    called ||= reason === 'bad_body'
  })
  const keepNothing = () => {
    throw new Error('this receiver keeps nothing')
  }
  const keeping = { statusRecord: keepNothing, deadLetter: keepNothing, publish: async () => keepNothing() }
  try {
    const { close } = await startReceiver({ port, host, tokens: tokensOf(settings)!, telemetry, ...keeping })
    return { called: () => called, close }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null
    throw error
  }
}

interface HttpAnswer {
  status: number
  text: string
}

/** The token is good for some minutes and stands for no command; the body is no callback's. */
async function call(url: string, { callbacks }: Settings): Promise<HttpAnswer | Error> {
  const { secret, tokenLifeMs } = callbacks
  const now = () => Date.now() - tokenLifeMs + 5 * minuteMs
  const token = createHookTokens({ keys: () => secret!.reveal(), tokenLifeMs, now }).issue({
    account: 'doctor',
    id: 0n,
    type: 'doctor',
    correlationId: null,
    tenant: null,
    campaign: null,
    country: null,
    trace: null,
  })
  try {
    const response = await fetch(`${url}/hooks/${token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"busgate":"doctor"}',
      redirect: 'manual',
      signal: AbortSignal.timeout(limitMs),
    })
    return { status: response.status, text: (await response.text()).trim() }
  } catch (error) {
    return error as Error
  }
}

function judge(url: string, answer: HttpAnswer | Error, own: OwnReceiver | null, isOurs: boolean): Finding {
  const secret = variableOf('callbacks.secret')
  const noWay = isOurs ? failed : warning
  if (answer instanceof Error) {
    const { code, message } = (answer.cause ?? {}) as { code?: string; message?: string }
    const started = own ? ' (a receiver was started here for this)' : ''
    return noWay(
      `${url} is not reached: ${code ?? message ?? answer.name}${started}`,
      `curl -i ${url}/hooks/x, and check ${publicUrl}`,
    )
  }
  if (says(answer, 'bad_body')) {
    return ok(`${url} leads to a receiver that takes this secret's addresses: ${whom(own, isOurs)}`)
  }
  if (says(answer, 'unknown_key')) {
    return failed(
      `${url} leads to a receiver that does not know the first key of ${secret}`,
      `give every process the same ${secret}`,
    )
  }
  if (says(answer, 'forged')) {
    const what = `${url} leads to a receiver that does not take addresses made here: another secret, or a shorter tokenLifeMs`
    return failed(what, `give every process the same ${secret}`)
  }
  const what = `${url} leads to something else than a receiver: it answers ${answer.status}`
  return noWay(what, `have it pass POST /hooks/… on to ${variableOf('callbacks.port')}, or correct ${publicUrl}`)
}

/** Says by what the receiver was judged. */
function whom(own: OwnReceiver | null, isOurs: boolean): string {
  if (own) return own.called() ? 'the one started here for this' : 'one elsewhere, not the one started here for this'
  return isOurs ? 'one that runs already' : 'one elsewhere, for this process runs none'
}

function says({ status, text }: HttpAnswer, refusal: keyof typeof refusals): boolean {
  return status === refusals[refusal].status && text === refusals[refusal].text
}
