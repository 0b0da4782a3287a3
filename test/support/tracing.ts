import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

const exporter = new InMemorySpanExporter()
let started = false

/** Registers an OpenTelemetry SDK that collects this test's spans. It cannot be removed, so the file's later tests share it. */
export function startTracing() {
  exporter.reset()
  if (!started) {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
    context.setGlobalContextManager(createContextManager())
  }
  started = true
  return { spans: (name: string) => exporter.getFinishedSpans().filter(span => span.name === name) }
}

function createContextManager(): Parameters<typeof context.setGlobalContextManager>[0] {
  const active = new AsyncLocalStorage<Context>()
  return {
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (context, run, self, ...args) => active.run(context, () => run.call(self as never, ...args)),
    bind: (_, target) => target,
    enable() {
      return this
    },
    disable() {
      return this
    },
  }
}
