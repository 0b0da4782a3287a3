import { refusals } from '../../callbacks/refusals.ts'
import { tokensOf } from '../../callbacks/role.ts'
import { probeId } from '../../callbacks/subject.ts'
import { createHookTokens, tokenLifeMs } from '../../callbacks/token.ts'
import type { Settings } from '../../config/index.ts'
import { shellWord } from '../../shell.ts'
import { check, type Finding, failed, named, notSet, ok, warning } from './check.ts'
import { isOpen } from './settings.ts'

const limitMs = 4000
const minuteMs = 60_000
const publicUrl = named('callbacks.publicUrl')

export const receiver = check({
  name: 'receiver',
  about:
    'callbacks.publicUrl leads to a receiver that accepts hook addresses of this secret. It sends a callback that can never become an event; only a receiver with another secret counts it as refused. An address that leads to none is a warning: the receiver may not run yet, or perhaps only the gateway can reach it.',
  needs: ['settings'],
  async look({ settings }) {
    const url = settings.callbacks.publicUrl
    const tokens = tokensOf(settings)
    if (!url || !tokens)
      return { findings: [notSet('callbacks.publicUrl', 'messages sent with these settings get no hook')] }
    const finding = judge(url, await call(url, settings))
    if (finding.state !== 'ok' || !isOpen(url)) return { findings: [finding] }
    const what = 'callbacks can be read and repeated on the network: the address begins with http'
    return { findings: [finding, warning(what, `terminate TLS in a proxy, and begin ${publicUrl} with https`)] }
  },
})

interface HttpAnswer {
  status: number
  text: string
}

/** Sends a callback with a token that is valid for some minutes and belongs to no command, and a body that no callback has. */
async function call(url: string, { callbacks }: Settings): Promise<HttpAnswer | Error> {
  const { secret } = callbacks
  const now = () => Date.now() - tokenLifeMs + 5 * minuteMs
  const token = createHookTokens({ keys: () => secret!.reveal(), now }).issue({
    account: 'doctor',
    id: probeId,
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

function judge(url: string, answer: HttpAnswer | Error): Finding {
  const secret = named('callbacks.secret')
  if (answer instanceof Error) {
    const { code, message } = (answer.cause ?? {}) as { code?: string; message?: string }
    return warning(
      `${url} cannot be reached: ${code ?? message ?? answer.name}`,
      `start busgate run, check ${publicUrl}, which must lead to ${named('callbacks.port')}, and try curl -i -X POST ${shellWord(`${url}/hooks/x`)}: "404 no such address" means that it is reached`,
    )
  }
  if (says(answer, 'bad_body')) return ok(`${url} leads to a receiver that accepts addresses of this secret`)
  if (says(answer, 'unknown_key')) {
    return failed(
      `${url} leads to a receiver that does not know the first key of ${secret}`,
      `give every process the same ${secret}`,
    )
  }
  if (says(answer, 'forged')) {
    const what = `${url} leads to a receiver that refuses addresses made here: it has another secret`
    return failed(what, `give every process the same ${secret}`)
  }
  const what = `${url} does not lead to a receiver: it answers ${answer.status}`
  return warning(what, `let it forward POST /hooks/… to ${named('callbacks.port')}, or correct ${publicUrl}`)
}

function says({ status, text }: HttpAnswer, refusal: keyof typeof refusals): boolean {
  return status === refusals[refusal].status && text === refusals[refusal].text
}
