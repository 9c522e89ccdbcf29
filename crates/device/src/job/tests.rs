use super::*;

#[test]
fn a_job_is_one_line_and_comes_back_the_same() {
    let job = Job {
        ptx: ".version 8.0\n.target sm_75\n".to_owned(),
        buffers: vec![Buffer::of(vec![0, 255, 10]), Buffer::uninitialized(64)],
        host: vec![Buffer::of(vec![1; 5])],
        streams: BTreeMap::from([(1, StreamKind::Blocking), (2, StreamKind::Legacy)]),
        steps: vec![
            Step::Launch(Launch {
                entry: "_Z1kPi".to_owned(),
                grid: [1, 2, 3],
                block: [32, 1, 1],
                shared: 48 << 10,
                params: vec![Param::Buffer(1), Param::Bytes(vec![7, 0, 0, 0].into())],
                cooperative: true,
                cluster: None,
                dependent: false,
                stream: 1,
            }),
            Step::Record {
                event: 3,
                stream: 1,
            },
            Step::Wait {
                event: 3,
                stream: 0,
            },
            Step::Copy {
                from: Place::Host {
                    index: 0,
                    offset: 1,
                },
                to: Place::Buffer {
                    index: 0,
                    offset: 0,
                },
                bytes: 3,
                stream: 0,
            },
            Step::Synchronize { stream: 0 },
        ],
        read: vec![1, 0],
        read_host: vec![0],
        intervals: vec![[1, 1]],
    };
    let text = serde_json::to_string(&job).unwrap();
    assert!(!text.contains('\n'));
    assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
}

#[test]
fn what_is_not_said_has_a_usual_value() {
    let job: Job = serde_json::from_str(
            r#"{"buffers":[{"bytes":4,"data":"AQI="}],"steps":[{"launch":{"entry":"k","grid":[1,1,1],"block":[1,1,1],"params":[{"buffer":0},{"bytes":"/w=="}]}},{"synchronize":{}}]}"#,
        )
        .unwrap();
    assert_eq!(job.buffers[0].data, Some(Bytes(vec![1, 2])));
    assert_eq!(job.steps[1], Step::Synchronize { stream: 0 });
    let Step::Launch(launch) = &job.steps[0] else {
        panic!("{job:?}")
    };
    assert_eq!(launch.params[1], Param::Bytes(Bytes(vec![255])));
    assert!(!launch.cooperative && launch.shared == 0);
}

#[test]
fn parameters_lie_where_the_driver_reads_them() {
    let params = [
        Param::Bytes(vec![1, 2, 3, 4].into()),
        Param::Buffer(1),
        Param::Bytes((0..20).collect::<Vec<u8>>().into()),
    ];
    let block = ParamBlock::new(&params, &[0x10, 0x7f00_0000_0200], &[]);
    let values: Vec<_> = block.values().copied().collect();
    assert_eq!(values[0], 0x0403_0201);
    assert_eq!(values[1], 0x7f00_0000_0200);
    assert_eq!(values[2].to_le_bytes(), std::array::from_fn(|i| i as u8));
    // Structs go on behind; what is not given is zero.
    assert_eq!(block.units[block.offsets[2] + 1], 0x1312_1110);
    assert!(values[3..].iter().all(|v| *v == 0) && values.len() > MORE);
    assert_eq!(ParamBlock::new(&[], &[], &[]).values().next(), Some(&0));
}

#[test]
fn jobs_that_make_no_sense_are_told() {
    let launch = |params| {
        Step::Launch(Launch {
            entry: "k".to_owned(),
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            params,
            cooperative: false,
            cluster: None,
            dependent: false,
            stream: 0,
        })
    };
    let job = |steps| Job {
        ptx: "p".to_owned(),
        buffers: vec![Buffer::uninitialized(8)],
        steps,
        ..Job::default()
    };
    let copy = |offset, bytes| Step::Copy {
        from: Place::Buffer {
            index: 0,
            offset: 0,
        },
        to: Place::Buffer { index: 0, offset },
        bytes,
        stream: 0,
    };
    let told = |job: Job| job.problem().unwrap_or_default();
    assert_eq!(
        told(job(vec![launch(vec![Param::Buffer(0)]), copy(4, 4)])),
        ""
    );
    assert_eq!(
        told(job(vec![launch(vec![Param::Buffer(1)])])),
        "step 0: there is no buffer 1"
    );
    for (offset, bytes) in [(4, 5), (u64::MAX, 1), (0, 9)] {
        assert_eq!(
            told(job(vec![launch(vec![]), copy(offset, bytes)])),
            "step 1: the copy exceeds the end of buffer 0"
        );
    }
    assert_eq!(
        told(job(vec![Step::Synchronize { stream: 64 }])),
        "step 0: stream numbers must be below 64"
    );
    let read = Job {
        read: vec![3],
        ..job(vec![])
    };
    assert_eq!(told(read), "there is no buffer 3");
    let mut long = job(vec![]);
    long.buffers[0].data = Some(vec![0; 9].into());
    assert_eq!(told(long), "more bytes than buffer 0 has");
    let without = Job {
        ptx: String::new(),
        ..job(vec![launch(vec![])])
    };
    assert_eq!(told(without), "step 0: a launch needs PTX");
}

#[test]
fn misspelt_jobs_are_refused() {
    for text in [
        r#"{"buffer":[]}"#,
        r#"{"steps":[{"lunch":{}}]}"#,
        r#"{"buffers":[{"bytes":1,"data":"*"}]}"#,
    ] {
        assert!(serde_json::from_str::<Job>(text).is_err(), "{text}");
    }
}
