import static io.confluent.parallelconsumer.ParallelConsumerOptions.CommitMode.PERIODIC_CONSUMER_ASYNCHRONOUS;
import static io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder.UNORDERED;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.vertx.VertxParallelEoSStreamProcessor;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.client.WebClient;
import io.vertx.ext.web.client.WebClientOptions;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The benchmark's job on Confluent's parallel-consumer with Vert.x: at least once, in any order, SMS alone. Its one
 * argument is a Job as JSON (bench/peers/job.ts).
 */
public final class ParallelConsumerPeer {
  private static final ObjectMapper mapper = new ObjectMapper();
  private static final JsonFactory json = mapper.getFactory();

  private final String registryUrl;
  private final String url;
  private final String results;
  private final Producer<byte[], byte[]> producer;
  private final WebClient gateway;
  private final Map<Integer, GenericDatumReader<GenericRecord>> readers = new ConcurrentHashMap<>();
  private final ThreadLocal<BinaryDecoder> decoders = new ThreadLocal<>();
  private final HttpClient registry = HttpClient.newHttpClient();

  private ParallelConsumerPeer(JsonNode job, Producer<byte[], byte[]> producer, WebClient gateway) {
    this.registryUrl = job.get("registryUrl").asText();
    this.url = job.get("url").asText();
    this.results = job.get("results").asText();
    this.producer = producer;
    this.gateway = gateway;
  }

  public static void main(String[] args) throws IOException {
    JsonNode job = mapper.readTree(args[0]);
    int inFlight = job.get("inFlight").asInt();
    String brokers = String.join(",", textsOf(job.get("brokers")));
    var consumer = new KafkaConsumer<>(
        Map.<String, Object>of(
            "bootstrap.servers", brokers,
            "group.id", job.get("group").asText(),
            "enable.auto.commit", false,
            "auto.offset.reset", "earliest",
            "max.poll.records", 2000),
        new ByteArrayDeserializer(),
        new ByteArrayDeserializer());
    var producer = new KafkaProducer<>(
        Map.<String, Object>of(
            "bootstrap.servers", brokers,
            "enable.idempotence", true,
            "linger.ms", 5,
            "batch.size", 131072,
            "compression.type", "lz4"),
        new ByteArraySerializer(),
        new ByteArraySerializer());
    Vertx vertx = Vertx.vertx();
    WebClient gateway = WebClient.create(vertx, new WebClientOptions().setMaxPoolSize(inFlight));
    var options = ParallelConsumerOptions.<byte[], byte[]>builder()
        .consumer(consumer)
        .ordering(UNORDERED)
        .commitMode(PERIODIC_CONSUMER_ASYNCHRONOUS)
        .batchSize(job.get("envelope").asInt())
        .maxConcurrency(inFlight)
        .build();
    var processor = new VertxParallelEoSStreamProcessor<byte[], byte[]>(vertx, gateway, options);
    var peer = new ParallelConsumerPeer(job, producer, gateway);
    processor.subscribe(textsOf(job.get("commands")));
    processor.vertxFuture(context -> peer.send(context.getConsumerRecordsFlattened()));
  }

  private static List<String> textsOf(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false).map(JsonNode::asText).collect(Collectors.toList());
  }

  private Future<?> send(List<ConsumerRecord<byte[], byte[]>> commands) {
    return gateway.postAbs(url)
        .putHeader("content-type", "application/json")
        .sendBuffer(Buffer.buffer(envelopeOf(commands)))
        .compose(answer -> answer.statusCode() == 200
            ? produce(answer.body().getBytes())
            : Future.failedFuture("the gateway answered " + answer.statusCode()));
  }

  private byte[] envelopeOf(List<ConsumerRecord<byte[], byte[]>> commands) {
    var out = new ByteArrayOutputStream(commands.size() * 256);
    try (JsonGenerator text = json.createGenerator(out)) {
      text.writeStartObject();
      text.writeStringField("auth", "a-key");
      text.writeArrayFieldStart("data");
      for (var record : commands) {
        GenericRecord command = decoded(record.value());
        GenericRecord message = (GenericRecord) command.get("message");
        text.writeStartObject();
        text.writeStringField("type", "sms");
        text.writeNumberField("id", (long) command.get("id"));
        text.writeNumberField("phone", (long) command.get("phone"));
        text.writeStringField("sms_message", message.get("sms_message").toString());
        text.writeStringField("sms_signature", message.get("sms_signature").toString());
        text.writeEndObject();
      }
      text.writeEndArray();
      text.writeEndObject();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return out.toByteArray();
  }

  /** The Confluent wire format: a zero, the schema's id in four bytes, Avro. */
  private GenericRecord decoded(byte[] value) throws IOException {
    int schemaId = ByteBuffer.wrap(value).getInt(1);
    BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(value, 5, value.length - 5, decoders.get());
    decoders.set(decoder);
    return readers.computeIfAbsent(schemaId, this::readerOf).read(null, decoder);
  }

  private GenericDatumReader<GenericRecord> readerOf(int schemaId) {
    try {
      var request = HttpRequest.newBuilder(URI.create(registryUrl + "/schemas/ids/" + schemaId)).build();
      String answer = registry.send(request, HttpResponse.BodyHandlers.ofString()).body();
      return new GenericDatumReader<>(new Schema.Parser().parse(mapper.readTree(answer).get("schema").asText()));
    } catch (IOException | InterruptedException error) {
      throw new IllegalStateException("the schema registry does not give schema " + schemaId, error);
    }
  }

  /** One result for each item of the gateway's answer; done when the brokers have them all. */
  private Future<Void> produce(byte[] answer) {
    List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
    try {
      for (JsonNode item : mapper.readTree(answer).get("data")) records.add(resultOf(item));
    } catch (IOException error) {
      return Future.failedFuture(error);
    }
    Promise<Void> done = Promise.promise();
    AtomicInteger left = new AtomicInteger(records.size());
    for (var record : records) {
      producer.send(record, (metadata, error) -> {
        if (error != null) done.tryFail(error);
        else if (left.decrementAndGet() == 0) done.tryComplete();
      });
    }
    return done.future();
  }

  private ProducerRecord<byte[], byte[]> resultOf(JsonNode item) throws IOException {
    JsonNode data = item.get("data");
    long id = data.get("id").asLong();
    var out = new ByteArrayOutputStream(128);
    try (JsonGenerator text = json.createGenerator(out)) {
      text.writeStartObject();
      text.writeNumberField("id", id);
      text.writeStringField("outcome", item.get("success").asBoolean() ? "SENT" : "REJECTED");
      text.writeStringField("msgId", data.get("msg_id").asText());
      text.writeNumberField("parts", data.get("parts").asInt());
      text.writeEndObject();
    }
    return new ProducerRecord<>(results, Long.toString(id).getBytes(UTF_8), out.toByteArray());
  }
}
