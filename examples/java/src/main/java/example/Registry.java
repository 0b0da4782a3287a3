package example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.avro.Schema;

/** A Confluent-compatible schema registry. With Confluent's own serializers (from their Maven repository) it is not needed. */
final class Registry {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final Map<Integer, Schema> byId = new ConcurrentHashMap<>();
  private final String url;

  Registry(String url) {
    this.url = url;
  }

  /** The id of a schema that is registered. It is looked up, never registered: who runs busgate does that. */
  int idOf(String subject, String schema) throws IOException, InterruptedException {
    // Without spaces, as busgate registers it: Apicurio looks schemas up by their text.
    ObjectNode body = JSON.createObjectNode().put("schema", JSON.readTree(schema).toString());
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url + "/subjects/" + subject))
            .header("Content-Type", "application/vnd.schemaregistry.v1+json")
            .POST(HttpRequest.BodyPublishers.ofString(body.toString()));
    return ask(request).get("id").asInt();
  }

  Schema schemaOf(int id) throws IOException, InterruptedException {
    Schema known = byId.get(id);
    if (known != null) return known;
    JsonNode answer = ask(HttpRequest.newBuilder(URI.create(url + "/schemas/ids/" + id)));
    Schema schema = new Schema.Parser().parse(answer.get("schema").asText());
    byId.put(id, schema);
    return schema;
  }

  private JsonNode ask(HttpRequest.Builder request) throws IOException, InterruptedException {
    HttpResponse<String> response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) throw new IOException("the schema registry answered " + response.body());
    return JSON.readTree(response.body());
  }
}
