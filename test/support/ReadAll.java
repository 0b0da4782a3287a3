import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Prints every record of the topics that the arguments name, as a JSON line, as Avro reads it by itself. */
class ReadAll {
  static final ObjectMapper JSON = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
  static final HttpClient HTTP = HttpClient.newHttpClient();
  static final Map<Integer, Schema> SCHEMAS = new HashMap<>();

  public static void main(String[] topics) throws Exception {
    Map<String, Object> settings =
        Map.of("bootstrap.servers", System.getenv("KAFKA_BROKERS"), "isolation.level", "read_committed");
    var bytes = new ByteArrayDeserializer();
    try (var consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
      for (String topic : topics) {
        var partition = new TopicPartition(topic, 0);
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        long end = consumer.endOffsets(List.of(partition)).get(partition);
        while (consumer.position(partition) < end) {
          for (var record : consumer.poll(Duration.ofSeconds(1))) print(record);
        }
      }
    }
  }

  static void print(ConsumerRecord<byte[], byte[]> record) throws Exception {
    var line = JSON.createObjectNode().put("topic", record.topic());
    var headers = line.putObject("headers");
    for (var header : record.headers()) {
      if (header.key().startsWith("busgate.")) {
        headers.put(header.key(), new String(header.value(), StandardCharsets.UTF_8));
      }
    }
    if (headers.has("busgate.error.stage")) line.put("value", HexFormat.of().formatHex(record.value()));
    else line.set("value", JSON.readTree(decode(record.value()).toString()));
    System.out.println(JSON.writeValueAsString(line));
  }

  static GenericRecord decode(byte[] bytes) throws Exception {
    ByteBuffer header = ByteBuffer.wrap(bytes);
    if (header.get() != 0) throw new IllegalArgumentException("not in Confluent's wire format");
    Schema schema = schemaOf(header.getInt());
    var body = DecoderFactory.get().binaryDecoder(bytes, header.position(), header.remaining(), null);
    return new GenericDatumReader<GenericRecord>(schema).read(null, body);
  }

  static Schema schemaOf(int id) throws Exception {
    Schema known = SCHEMAS.get(id);
    if (known != null) return known;
    var request = HttpRequest.newBuilder(URI.create(System.getenv("REGISTRY_URL") + "/schemas/ids/" + id)).build();
    JsonNode answer = JSON.readTree(HTTP.send(request, BodyHandlers.ofString()).body());
    Schema schema = new Schema.Parser().parse(answer.get("schema").asText());
    SCHEMAS.put(id, schema);
    return schema;
  }
}
