//! tantivy, set up for what Set Algebra does: documents by their numbers, no scores, no frequencies, no positions.

use tailwater_setalgebra::collection::Collection;
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::WhitespaceTokenizer;
use tantivy::{
    DocId, Index, IndexSettings, IndexWriter, Score, Searcher, SegmentOrdinal, SegmentReader,
    TantivyDocument, TantivyError, Term,
};

/// Terms are given as they are; Set Algebra has cut and lowered them.
const TOKENIZER: &str = "terms";

/// The writer keeps so much before it writes a segment; segments are merged to one.
const WRITER_BYTES: usize = 512 << 20;

/// An index in memory, of one segment: so a document's number there is its number here.
pub(crate) struct Peer {
    searcher: Searcher,
    field: Field,
}

impl Peer {
    /// Of all words but those of the stop list.
    pub(crate) fn build(collection: &Collection, is_stop: &[bool]) -> Result<Self, TantivyError> {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        let mut schema = Schema::builder();
        let field =
            schema.add_text_field("words", TextOptions::default().set_indexing_options(indexing));
        let index = Index::create(
            tantivy::directory::RamDirectory::create(),
            schema.build(),
            IndexSettings::default(),
        )?;
        index.tokenizers().register(TOKENIZER, WhitespaceTokenizer::default());
        let mut writer: IndexWriter<TantivyDocument> =
            index.writer_with_num_threads(1, WRITER_BYTES)?;
        for number in 0..collection.documents() {
            let words = collection.document(number).iter().filter(|&&word| !is_stop[word as usize]);
            let words: Vec<&str> = words.map(|&word| collection.word(word)).collect();
            let mut document = TantivyDocument::default();
            document.add_text(field, words.join(" "));
            writer.add_document(document)?;
        }
        writer.commit()?;
        let segments = index.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.wait_merging_threads()?;
        Ok(Self { searcher: index.reader()?.searcher(), field })
    }

    /// How many segments it has.
    pub(crate) fn segments(&self) -> usize {
        self.searcher.segment_readers().len()
    }

    /// Bytes of the posting lists with their skips, and of the dictionary of words.
    pub(crate) fn bytes(&self) -> Result<(u64, u64), TantivyError> {
        let usage = self.searcher.space_usage()?;
        let sum = |of: &dyn Fn(&tantivy::space_usage::SegmentSpaceUsage) -> u64| {
            usage.segments().iter().map(of).sum()
        };
        Ok((
            sum(&|segment| segment.postings().total().get_bytes()),
            sum(&|segment| segment.termdict().total().get_bytes()),
        ))
    }

    /// The documents that have all of these words, by rising number.
    pub(crate) fn find(&self, words: &[&str]) -> Result<Vec<u32>, TantivyError> {
        let of = |word: &&str| -> Box<dyn Query> {
            let term = Term::from_field_text(self.field, word);
            Box::new(TermQuery::new(term, IndexRecordOption::Basic))
        };
        let query = BooleanQuery::intersection(words.iter().map(of).collect());
        self.searcher.search(&query, &Numbers)
    }
}

/// All documents as they come: a segment gives them by rising number, and there is one segment.
struct Numbers;

impl Collector for Numbers {
    type Fruit = Vec<DocId>;
    type Child = OfSegment;

    fn for_segment(&self, _: SegmentOrdinal, _: &SegmentReader) -> Result<OfSegment, TantivyError> {
        Ok(OfSegment(Vec::new()))
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, mut segments: Vec<Vec<DocId>>) -> Result<Vec<DocId>, TantivyError> {
        Ok(segments.pop().unwrap_or_default())
    }
}

struct OfSegment(Vec<DocId>);

impl SegmentCollector for OfSegment {
    type Fruit = Vec<DocId>;

    fn collect(&mut self, document: DocId, _: Score) {
        self.0.push(document);
    }

    fn collect_block(&mut self, documents: &[DocId]) {
        self.0.extend_from_slice(documents);
    }

    fn harvest(self) -> Vec<DocId> {
        self.0
    }
}
